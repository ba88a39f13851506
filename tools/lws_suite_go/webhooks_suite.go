// The set-up of upstream's specs of webhooks: the operator runs already, and its webhooks are registered.
package webhooks

import (
	"context"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	leaderworkerset "sigs.k8s.io/lws/api/leaderworkerset/v1"
	"sigs.k8s.io/lws/pkg/webhooks"
	"sigs.k8s.io/lws/test/pausing"
)

var (
	ctx       = context.Background()
	k8sClient client.Client
	// Specs keep a scheduler in it; it is asked nothing.
	pw = webhooks.NewPodWebhook(nil)
)

func TestWebhooks(t *testing.T) {
	gomega.RegisterFailHandler(ginkgo.Fail)
	ginkgo.RunSpecs(t, "webhooks")
}

var _ = ginkgo.BeforeSuite(func() {
	gomega.Expect(leaderworkerset.AddToScheme(scheme.Scheme)).To(gomega.Succeed())
	var err error
	k8sClient, err = pausing.Client(scheme.Scheme)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
})
