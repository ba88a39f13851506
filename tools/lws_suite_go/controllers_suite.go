// The set-up of upstream's specs of controllers: the operator runs already, and its kinds are there.
package controllers

import (
	"context"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	leaderworkerset "sigs.k8s.io/lws/api/leaderworkerset/v1"
	"sigs.k8s.io/lws/pkg/controllers"
	"sigs.k8s.io/lws/test/pausing"
)

var (
	ctx       = context.Background()
	k8sClient client.Client
	// Specs keep a scheduler in it and ask that for names; it reconciles nothing.
	podController = &controllers.PodReconciler{}
)

func TestControllers(t *testing.T) {
	gomega.RegisterFailHandler(ginkgo.Fail)
	ginkgo.RunSpecs(t, "controllers")
}

var _ = ginkgo.BeforeSuite(func() {
	gomega.Expect(leaderworkerset.AddToScheme(scheme.Scheme)).To(gomega.Succeed())
	gomega.Expect(volcanov1beta1.AddToScheme(scheme.Scheme)).To(gomega.Succeed())
	var err error
	k8sClient, err = pausing.Client(scheme.Scheme)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
})
